// What the tests and the quickstart need from Debian: found by a program or a file that must be there, installed by package name.
// What is marked with a use is needed for that alone.
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** What is set up for, and what each needs beside its own: what another needs. */
const uses = {
  quickstart: ['quickstart'],
  test: ['quickstart', 'test'],
  bench: ['quickstart', 'test', 'bench'],
  emulated: ['quickstart', 'emulated'],
};

const needed = {
  quickstart: [
    { package: 'gcc', program: 'cc', why: 'the guest is built from source' },
    { package: 'libc6-dev', file: '/usr/include/stdio.h', why: 'the guest is built from source' },
    { package: 'musl-tools', program: 'musl-gcc', why: 'the guest is small with musl' },
    { package: 'crun', program: 'crun', why: 'it starts sandboxes' },
    { package: 'runc', program: 'runc', why: 'it starts sandboxes where crun cannot' },
    { package: 'e2fsprogs', program: 'mkfs.ext4', why: 'the disk of a sandbox is an ext4 of its own' },
    { package: 'btrfs-progs', program: 'mkfs.btrfs', why: 'snapshots are quick on btrfs' },
    { package: 'mmdebstrap', program: 'mmdebstrap', why: 'a Debian base is bootstrapped with it' },
  ],
  test: [
    { package: 'runsc', program: 'runsc', why: 'sandboxes with a kernel of their own are tested with it' },
    { package: 'git', program: 'git', why: 'sources are git repositories' },
    { package: 'attr', program: 'setfattr', why: 'snapshots are tested for extended attributes' },
    { package: 'strace', program: 'strace', why: 'the guest is tested for the calls it makes' },
    { package: 'valgrind', program: 'valgrind', why: 'the guest is tested under it' },
    { package: 'docker-registry', program: 'docker-registry', why: 'images are pulled from a real registry' },
    { package: 'skopeo', program: 'skopeo', why: 'images are pushed and converted by another program than ours' },
    { package: 'umoci', program: 'umoci', why: 'images are made and unpacked by another program than ours' },
    { package: 'docker.io', program: 'dockerd', why: 'the docker driver is tested on a real engine' },
    { package: 'podman', program: 'podman', why: 'the podman driver is tested on a real engine' },
    { package: 'openssh-server', file: '/usr/sbin/sshd', why: 'an engine behind ssh is reached through a real one' },
    { package: 'postgresql', program: 'initdb', why: 'the store is tested on a real Postgres' },
  ],
  bench: [],
  emulated: [{ package: 'qemu-system-x86', program: 'qemu-system-x86_64', why: 'it emulates another machine' }],
};

export function missingDebianPackages(use = 'test') {
  return uses[use]
    .flatMap((one) => needed[one])
    .filter((entry) => (entry.file ? !existsSync(entry.file) : !onPath(entry.program)));
}

function onPath(program) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin', ...postgresFolders()];
  return folders.some((folder) => folder !== '' && existsSync(join(folder, program)));
}

/** Debian keeps the programs of Postgres out of PATH, a folder for each version. */
function postgresFolders() {
  const root = '/usr/lib/postgresql';
  return existsSync(root) ? readdirSync(root).map((version) => join(root, version, 'bin')) : [];
}
