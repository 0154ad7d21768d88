"""Interfaces of the Linux kernel that sandboxes are made of: namespaces, ID maps, rights, system calls."""
