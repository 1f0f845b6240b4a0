//go:build e2e

package e2etest

const Bob = int64(444555666)
