"""Time stamps: every common way of writing one, read as nanoseconds since the epoch, UTC."""
