"""Which files hold which rows."""
