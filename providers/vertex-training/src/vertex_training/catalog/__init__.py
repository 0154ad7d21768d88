"""Google's tables of machine types, accelerators, regions and prebuilt images."""
