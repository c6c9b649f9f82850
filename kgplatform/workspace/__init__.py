"""A workspace: opened, filled by stages that can each be resumed, searched, reviewed and updated."""
