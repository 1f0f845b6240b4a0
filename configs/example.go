package configs

import _ "embed"

// Example is the commented example: every key with its default.
//
//go:embed everthread.example.yaml
var Example []byte
