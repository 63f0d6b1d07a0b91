package tables

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"strings"

	"github.com/dprelease/dprelease/report"
)

// csvw writes what CSV on the Web (W3C, 2015) says of a table, for the file beside it that ends in -metadata.json.
func (b *book) csvw(t table) ([]byte, error) {
	types := map[string]string{"string": "string", "int64": "integer", "float64": "double"}
	columns := []map[string]any{}
	for _, c := range t.columns {
		one := map[string]any{"name": encoded(c.name), "titles": cmp.Or(c.label, report.Cell(c.name)), "datatype": types[c.kind]}
		if c.doc != "" {
			one["dc:description"] = c.doc
		}
		if c.name == "status" {
			one["propertyUrl"] = "http://purl.org/linked-data/sdmx/2009/attribute#obsStatus"
		}
		columns = append(columns, one)
	}
	about := map[string]any{
		"@context": []any{"http://www.w3.org/ns/csvw", map[string]any{"@language": b.in.Name}}, "url": t.name + ".csv",
		"dc:title": t.title, "dc:description": strings.Join(t.notes, " "), "dc:isPartOf": b.title(),
		"tableSchema": map[string]any{"columns": columns},
	}
	if p := b.report.Publication; p != nil {
		for key, text := range map[string]string{"dc:publisher": p.Publisher, "dc:issued": p.Published, "dc:coverage": p.Period} {
			if text != "" {
				about[key] = text
			}
		}
	}
	return indented(about)
}

// encoded writes the name of a column as CSV on the Web wants it: with the letters of a variable in an URI template.
func encoded(name string) string {
	var out strings.Builder
	for i, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_' && i > 0:
			out.WriteByte(c)
		default:
			out.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	return out.String()
}

// dcat writes a record for a data portal (DCAT 3, as JSON-LD), about the files that lie beside it.
func (b *book) dcat(files []File) ([]byte, error) {
	r := b.report
	p := r.Publication
	if p == nil {
		p = &report.Publication{}
	}
	lang := func(text string) any { return map[string]any{"@value": text, "@language": b.in.Name} }
	var limits []string
	for _, l := range r.AllLimits() {
		limits = append(limits, l.Text+".")
	}
	languages := map[string]string{"en": "ENG", "de": "DEU"}
	record := map[string]any{
		"@context": map[string]any{
			"dcat": "http://www.w3.org/ns/dcat#", "dct": "http://purl.org/dc/terms/", "foaf": "http://xmlns.com/foaf/0.1/",
			"vcard": "http://www.w3.org/2006/vcard/ns#",
			"rdfs":  "http://www.w3.org/2000/01/rdf-schema#", "spdx": "http://spdx.org/rdf/terms#", "xsd": "http://www.w3.org/2001/XMLSchema#",
		},
		"@id": "urn:dprelease:job:" + strings.ReplaceAll(r.Job.Digest, ":", "-"), "@type": "dcat:Dataset",
		"dct:identifier": r.Job.Digest, "dct:title": lang(b.title()),
		"dct:language":    map[string]any{"@id": "http://publications.europa.eu/resource/authority/language/" + languages[b.in.Name]},
		"dct:description": lang(strings.TrimSpace(p.IntendedUse + " " + r.Promise())),
		"dct:provenance": map[string]any{"@type": "dct:ProvenanceStatement",
			"rdfs:label": lang(strings.TrimSpace(r.Promise() + " " + strings.Join(limits, " ")))},
		"dcat:keyword": []any{map[string]any{"@value": "differential privacy", "@language": "en"}},
	}
	if p.Sector != "" {
		record["dcat:keyword"] = append(record["dcat:keyword"].([]any), lang(p.Sector))
	}
	if p.Publisher != "" {
		record["dct:publisher"] = map[string]any{"@type": "foaf:Organization", "foaf:name": lang(p.Publisher)}
	}
	if p.Contact != "" {
		record["dcat:contactPoint"] = map[string]any{"@type": "vcard:Organization", "vcard:fn": lang(p.Contact)}
	}
	if p.Published != "" {
		record["dct:issued"] = map[string]any{"@value": p.Published, "@type": "xsd:date"}
	}
	if p.Region != "" {
		record["dct:spatial"] = map[string]any{"@type": "dct:Location", "rdfs:label": lang(p.Region)}
	}
	if p.Period != "" {
		record["dct:temporal"] = map[string]any{"@type": "dct:PeriodOfTime", "rdfs:label": lang(p.Period)}
	}
	if len(p.Sources) > 0 {
		var pages []any
		for _, s := range p.Sources {
			pages = append(pages, map[string]any{"@id": s, "@type": "foaf:Document"})
		}
		record["foaf:page"] = pages
	}
	record["dcat:distribution"] = b.distributions(files)
	return indented(record)
}

// media are the media types of files, by the ends of their names.
var media = map[string]string{
	".csv": "text/csv", ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

// distributions lists the tables and the workbooks. Their addresses are those of files beside the record.
func (b *book) distributions(files []File) []any {
	titles := map[string]string{}
	for _, t := range b.tables {
		titles[t.name+".csv"] = t.title
	}
	var out []any
	for _, f := range files {
		kind := media[path.Ext(f.Name)]
		if kind == "" {
			continue
		}
		title := titles[f.Name]
		if title == "" {
			title = f.Name
		}
		sum := sha256.Sum256(f.Content)
		one := map[string]any{
			"@id": f.Name + "#distribution", "@type": "dcat:Distribution", "dct:title": map[string]any{"@value": title, "@language": b.in.Name},
			"dcat:accessURL": map[string]any{"@id": f.Name}, "dcat:downloadURL": map[string]any{"@id": f.Name},
			"dcat:mediaType": map[string]any{"@id": "https://www.iana.org/assignments/media-types/" + kind},
			"dcat:byteSize":  map[string]any{"@value": len(f.Content), "@type": "xsd:nonNegativeInteger"},
			"spdx:checksum": map[string]any{"@type": "spdx:Checksum", "spdx:algorithm": map[string]any{"@id": "spdx:checksumAlgorithm_sha256"},
				"spdx:checksumValue": map[string]any{"@value": hex.EncodeToString(sum[:]), "@type": "xsd:hexBinary"}},
		}
		if kind == media[".csv"] {
			one["dct:conformsTo"] = map[string]any{"@id": "http://www.w3.org/TR/tabular-data-model/"}
			one["rdfs:seeAlso"] = map[string]any{"@id": f.Name + "-metadata.json"}
		}
		out = append(out, one)
	}
	return out
}

func indented(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return out.Bytes(), err
}
