"""A witness run in Triton's own interpreter: `kernelscope.replay.replaying.replay(path, finding) -> Replay`."""
