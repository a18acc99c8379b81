package main

import "os"

func Example() {
	dir, err := os.MkdirTemp("", "huon")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chdir(dir); err != nil {
		panic(err)
	}
	main()
	main() // The file is there already.
	// Output:
	// alan is 41
	// ada is 36
	// alan is 41
	// ada is 36
}
