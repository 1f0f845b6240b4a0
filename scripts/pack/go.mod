module pack

go 1.26.0
