"""The folders of a replica: its image's root, buckets, file shares, and a reduced /dev, /proc and /sys."""
