package address

import "testing"

func TestAddresses(t *testing.T) {
	for text, want := range map[string][3]string{
		"s3://b/a/b?region=x": {"s3://b", "a/b", "region=x"}, "gs://b": {"gs://b", "", ""}, "azblob://b//a/": {"azblob://b", "a", ""},
		"s3://b/y=*/x [1].parquet": {"s3://b", "y=*/x [1].parquet", ""}, "s3://b/k?kmskeyid=1": {"s3://b", "k", "kmskeyid=1"},
	} {
		root, key, options, ok := Split(text)
		if got := [3]string{root, key, options}; !ok || got != want {
			t.Errorf("%s: %v %v", text, got, ok)
		}
	}
	for _, text := range []string{"s3://", "s3:///k", "b/k", "s3://id:secret@b/k", "s3://b/k?secretaccesskey=x", "s3://b/k?sas_token=x", "azblob://b/k?sig=x"} {
		if _, _, _, ok := Split(text); ok {
			t.Errorf("%s was taken", text)
		}
	}
	if Is("file:///a") || Is("/a") || !Is("s3://a") || Local("file:///a") != "/a" {
		t.Error("what an address is")
	}
}
