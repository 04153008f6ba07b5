// What `run` adds in a copy: the package under test, github.com/replicate/go.
module millpond/interop

go 1.23

require github.com/redis/go-redis/v9 v9.11.0
