module tenure/test/conformance/miniredis

go 1.21

require github.com/alicebob/miniredis/v2 v2.33.0

require (
	github.com/alicebob/gopher-json v0.0.0-20200520072559-a9ecdc9d1d3a // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
)
