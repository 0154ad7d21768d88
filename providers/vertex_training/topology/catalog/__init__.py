"""What Google offers for training, as dated tables: machines, accelerators, regions, bandwidth. Data only."""
