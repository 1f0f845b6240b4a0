// Package service connects people with services: servers of tools whose address wants OAuth.
package service

// SealedAs returns the name under which the grants of a service are sealed.
func SealedAs(service string) string { return "grant " + service }
