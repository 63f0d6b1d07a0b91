package main

// The stores whose addresses a job may name. Their drivers are here and nowhere else: the packages of the program know
// gocloud.dev/blob alone. That of gs:// is in stores_gs.go.
import (
	_ "gocloud.dev/blob/azureblob"
	_ "gocloud.dev/blob/s3blob"
)
