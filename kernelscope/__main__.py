"""`python -m kernelscope`."""

from kernelscope.cli import main

if __name__ == "__main__":
    main()
