package approve

import (
	"errors"
	"fmt"

	"aead.dev/minisign"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/plugin/catalog"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// Key reads the secret key of minisign that signs a catalog, nil where path is "". It must be that of
// the catalog. Password is asked for the password of an encrypted key.
func Key(path string, c *catalog.Catalog, password func(path string) (string, error)) (*minisign.PrivateKey, error) {
	if path == "" {
		if c.Key() != nil {
			return nil, errors.New("the catalog takes only what its key has signed; give the key with --sign")
		}
		return nil, nil
	}
	if c.Key() == nil {
		return nil, errors.New("put the public key beside the catalog first, with .pub behind its name")
	}
	text, err := file.Read(path, catalog.MaxKey)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, failure.Reason(err))
	}
	var key minisign.PrivateKey
	if minisign.IsEncrypted(text) {
		typed, err := password(path)
		if err != nil {
			return nil, err
		}
		if key, err = minisign.DecryptKey(typed, text); err != nil {
			return nil, fmt.Errorf("%s: the password is not that of the key", path)
		}
	} else if err := key.UnmarshalText(text); err != nil {
		return nil, fmt.Errorf("%s: that is no secret key of minisign", path)
	}
	if public, ok := key.Public().(minisign.PublicKey); !ok || !c.Key().Equal(public) {
		return nil, fmt.Errorf("%s: that is not the key of the catalog", path)
	}
	return &key, nil
}
