"""A mail sink to test against: accepts mail by SMTP, keeps it, shows it over HTTP."""
