/** Files of tests share a process. A server keeps what it writes to its user alone, and a test writes as people do. */
process.umask(0o022);
