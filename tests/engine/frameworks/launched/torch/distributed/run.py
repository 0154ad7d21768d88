"""`torch.distributed.run` as far as a launcher is concerned: it prints how it was started."""

import sys

import found

found.report(sys.argv[1:])
