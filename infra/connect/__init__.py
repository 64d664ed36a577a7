"""Kafka Connect with Debezium: one connector for each outbox."""
