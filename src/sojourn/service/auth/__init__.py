"""Who may call: keys with roles, and sessions of the dashboard."""
