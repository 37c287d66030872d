"""The parts of confluent-kafka with which a broker of `jelly.grpc` keeps its topics in Kafka."""

from jelly.errors import need

with need("kafka", "a store in Kafka needs confluent-kafka"):
    from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

__all__ = ["AdminClient", "Consumer", "KafkaError", "KafkaException", "NewTopic", "Producer", "TopicPartition"]
