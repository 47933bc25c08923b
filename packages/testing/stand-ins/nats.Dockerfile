FROM gatehouse-stand-in-debian
COPY nats-server /usr/local/bin/nats-server
EXPOSE 4222
CMD ["nats-server"]
