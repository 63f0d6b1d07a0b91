#!/usr/bin/env bash
# Builds what a release publishes, into dist/: programs for Linux, macOS and Windows (mechanisms run on
# Linux only: on Windows the one for Linux runs jobs under WSL), the engine for Apache Beam, packages for
# Debian and Red Hat, a list of what they were built from, and checksums. All times are
# those of the commit, so two builds of one commit are the same bytes.
set -euo pipefail
cd "$(dirname "$0")"
out=${1:-../dist}
version=${VERSION:-$(git describe --tags --match 'v*' --always --dirty)}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
# A package's version begins with a number.
case $version in v[0-9]*) VERSION=${version#v} ;; *) VERSION=0.0.0~$version ;; esac
export VERSION

rm -rf "$out" && mkdir -p "$out"
out=$(cd "$out" && pwd)
(cd "$(pwd)" && GOOS='' GOARCH='' go build -o "$out/.sbom" ./sbom && GOOS='' GOARCH='' go build -o "$out/.nfpm" github.com/goreleaser/nfpm/v2/cmd/nfpm)
./share.sh "$out/.share"

for target in ${TARGETS:-linux/amd64 linux/arm64 darwin/arm64 windows/amd64}; do
  os=${target%/*} arch=${target#*/} name=dprelease-$version-$os-$arch
  program=dprelease && [ "$os" != windows ] || program=dprelease.exe
  folder=$(mktemp -d)
  mkdir "$folder/$name"
  # Go notes the commit in these: the program starts only mechanisms of its own build.
  (cd .. && CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath \
    -ldflags "-s -w -X main.release=$version" -o "$folder/$name/$program" ./cmd/dprelease)
  # Mechanisms run on Linux only.
  mechanisms=dprelease-mechanisms && [ "$os" = linux ] || mechanisms=
  [ -z "$mechanisms" ] || (cd .. && CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath -ldflags '-s -w' -o "$folder/$name/$mechanisms" ./cmd/dprelease-mechanisms)
  # What is handed rows is looked for in the folder of the program only: it comes in the same archive and package.
  companion=dprelease-stores && [ "$os" != windows ] || companion=
  [ -z "$companion" ] || (cd ../stores && CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=false \
    -ldflags '-s -w' -o "$folder/$name/$companion" .)
  publisher=dprelease-publish && [ "$os" != windows ] || publisher=dprelease-publish.exe
  (cd ../publish && CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$folder/$name/$publisher" .)
  designer=dprelease-design && [ "$os" != windows ] || designer=dprelease-design.exe
  (cd .. && CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath \
    -ldflags "-s -w -X main.release=$version" -o "$folder/$name/$designer" ./cmd/dprelease-design)
  engine=
  if [ "$os" != windows ]; then # a module of its own, in an archive of its own: it is large, and few need it
    engine=dprelease-beam-$version-$os-$arch
    mkdir "$folder/$engine"
    (cd ../engines/beam && CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=false \
      -ldflags '-s -w' -o "$folder/$engine/dprelease-beam" .)
    cp ../LICENSE ../docs/how-to/beam.md "$folder/$engine/"
    "$out/.sbom" "$folder/$engine/dprelease-beam" "$version" >"$out/$engine.cdx.json"
  fi
  cp ../LICENSE ../README.md ../CHANGELOG.md "$folder/$name/"
  "$out/.sbom" "$folder/$name/$program" "$version" >"$out/$name.cdx.json"
  "$out/.sbom" "$folder/$name/$designer" "$version" >"$out/dprelease-design-$version-$os-$arch.cdx.json"
  [ -z "$mechanisms" ] || "$out/.sbom" "$folder/$name/$mechanisms" "$version" >"$out/dprelease-mechanisms-$version-$os-$arch.cdx.json"
  [ -z "$companion" ] || "$out/.sbom" "$folder/$name/$companion" "$version" >"$out/dprelease-stores-$version-$os-$arch.cdx.json"
  "$out/.sbom" "$folder/$name/$publisher" "$version" >"$out/dprelease-publish-$version-$os-$arch.cdx.json"
  for made in $name $engine; do
    tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w --mtime="@$SOURCE_DATE_EPOCH" \
      -C "$folder" -c "$made" | gzip -n9 >"$out/$made.tar.gz"
  done
  if [ "$os" = linux ]; then
    for kind in deb rpm; do
      ARCH=$arch SHARE=$out/.share PROGRAM=$folder/$name/dprelease MECHANISMS=$folder/$name/dprelease-mechanisms STORES=$folder/$name/dprelease-stores PUBLISH=$folder/$name/dprelease-publish DESIGN=$folder/$name/dprelease-design "$out/.nfpm" package --config nfpm.yaml --packager $kind --target "$out/"
    done
  fi
  rm -rf "$folder"
done
rm -r "$out/.sbom" "$out/.nfpm" "$out/.share"
# The packages for R and Python are sources, of one version each: a number, as both want it.
for language in r python; do
  folder=$(mktemp -d) number=$(sed 's/[^0-9.].*//' <<<"${version#v}")
  case $number in *.*) ;; *) number=0.0.0 ;; esac
  made=dprelease-$language-$version
  cp -r "../bindings/$language" "$folder/dprelease"
  sed -i "s/^Version: 0.0.0$/Version: $number/; s/^version = \"0.0.0\"$/version = \"$number\"/" "$folder/dprelease"/{DESCRIPTION,pyproject.toml} 2>/dev/null || true
  tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w --mtime="@$SOURCE_DATE_EPOCH" \
    --exclude=__pycache__ -C "$folder" -c dprelease | gzip -n9 >"$out/$made.tar.gz"
  rm -rf "$folder"
done
(cd "$out" && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
