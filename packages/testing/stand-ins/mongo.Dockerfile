FROM gatehouse-stand-in-debian
COPY node /usr/local/bin/node
COPY mongo /mongo
RUN useradd --system --uid 999 mongodb && mkdir -p /data/db /data/configdb && chown mongodb:mongodb /data/*
USER mongodb
VOLUME /data/db
EXPOSE 27017
CMD ["node", "/mongo/mongo.mjs"]
