// The command sbom writes what a Go program was built from, as CycloneDX JSON, from the
// build information in the program itself.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM VERSION > sbom.json")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// write leaves out times and serial numbers, so that two builds say the same.
func write(w io.Writer, program, version string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	file, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(file)
	main := component(info.Main.Path, version)
	main.Type, main.Name = cyclonedx.ComponentTypeApplication, filepath.Base(program)
	main.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	parts := []cyclonedx.Component{component("std", info.GoVersion)}
	for _, dep := range info.Deps {
		switch at := dep.Replace; {
		case at != nil && at.Version == "": // a folder of this repository
			parts = append(parts, component(dep.Path, version))
			continue
		case at != nil:
			dep = at
		}
		parts = append(parts, component(dep.Path, dep.Version))
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &main}
	bom.Components = &parts
	return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

func component(path, version string) cyclonedx.Component {
	url := "pkg:golang/" + path + "@" + version
	return cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url, BOMRef: url,
	}
}
