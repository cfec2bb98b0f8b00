"""The policy behind HTTP: the API, the dashboard, the client, and simulated users."""
