module huon

go 1.24
