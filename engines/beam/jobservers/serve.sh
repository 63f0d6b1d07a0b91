#!/bin/sh
# Starts a job server that make beam-engines fetched, with an engine in the same process: serve.sh flink 8099. Further arguments
# are the server's: --flink-master=HOST:8081 for a cluster of Flink.
set -e
engine=$1 port=$2
shift 2
case $engine in
flink) driver=org.apache.beam.runners.flink.FlinkJobServerDriver ;;
spark) driver=org.apache.beam.runners.spark.SparkJobServerDriver ;;
*) echo "serve.sh: say flink or spark, and a port" >&2; exit 2 ;;
esac
# Both reach into packages that Java 17 keeps closed.
open=
for package in java.lang java.lang.invoke java.lang.reflect java.io java.net java.nio java.util java.util.concurrent \
  java.util.concurrent.atomic sun.nio.ch sun.nio.cs sun.security.action sun.util.calendar; do
  open="$open --add-opens=java.base/$package=ALL-UNNAMED"
done
# shellcheck disable=SC2086
exec java $open -cp "$(dirname "$0")/../../../bin/beam-engines/$engine/*" $driver \
  --job-host=localhost --job-port="$port" --artifact-port=0 --expansion-port=0 "$@"
