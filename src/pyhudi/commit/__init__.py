"""What one write is made of: begin, tag, plan, work, finish, and again where others came first."""
