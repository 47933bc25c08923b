FROM gatehouse-stand-in-debian
RUN ln -s busybox /usr/bin/wget
COPY nats-server /usr/local/bin/nats-server
EXPOSE 4222
CMD ["nats-server"]
