// What `run` adds in a copy: the package that is measured, github.com/shiblon/entroq.
module millpond/bench/entroq

go 1.23
