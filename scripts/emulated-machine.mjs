// Another machine, emulated: Debian's kernel and systemd with the control groups of a wish, and this clone in it. Slow (nothing of
// the host's processor helps), and the same everywhere.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The small kernel for virtual machines, and what the tests of sandboxes run. */
const packages = [
  'linux-image-cloud-amd64',
  ...['systemd-sysv', 'kmod', 'procps', 'iproute2', 'util-linux', 'e2fsprogs', 'attr', 'strace', 'git', 'libstdc++6'],
  ...['gcc', 'libc6-dev', 'musl-tools'],
  ...['crun', 'runc', 'runsc'],
];

/** What the kernel is told so that systemd mounts the control groups in each of the three ways. */
const cgroupArguments = {
  v2: ['systemd.unified_cgroup_hierarchy=1', 'cgroup_no_v1=all'],
  hybrid: ['systemd.unified_cgroup_hierarchy=0'],
  v1: ['systemd.unified_cgroup_hierarchy=0', 'systemd.legacy_systemd_cgroup_controller=1'],
};
export const cgroupLayouts = Object.keys(cgroupArguments);

/** The machine is up for one unit, and goes with it. */
const unit = `[Unit]
Description=What this machine is for
Wants=dev-hvc0.device
After=dev-hvc0.device
SuccessAction=poweroff-immediate
FailureAction=poweroff-immediate
[Service]
Type=oneshot
TimeoutStartSec=infinity
StandardInput=tty-force
StandardOutput=tty
StandardError=tty
TTYPath=/dev/hvc0
ExecStart=/bin/bash /usr/local/sbin/run-project
`;

/** The clone is at the same path as on the host: what was built for that path is not built again. */
const runProject = `stty -opost -echo
project=$(sed -n 's/.*caisson.project=\\([^ ]*\\).*/\\1/p' /proc/cmdline)
mkdir -p "$project" && mount /dev/vdb "$project" && cd "$project" && export HOME=/root
bash .cache/in-machine.sh
echo "the machine ends with $?"
`;

/** The root filesystem and the kernel, made once and kept for as long as nothing about them changes. */
function machineIn(cache) {
  // With this function's own text: a machine that would be made otherwise is another one.
  const facts = JSON.stringify([machineIn.toString(), packages, unit, runProject, process.version]);
  const folder = join(cache, createHash('sha256').update(facts).digest('hex').slice(0, 16));
  if (existsSync(folder)) return folder;
  console.log('emulated: making the machine from Debian packages (a minute, once)');
  const fresh = ownFolder(cache, 'new');
  try {
    const tree = join(fresh, 'tree');
    const include = `--include=${packages.join(',')}`;
    execFileSync('mmdebstrap', ['--quiet', '--variant=minbase', include, 'bookworm', tree], { stdio: 'inherit' });
    copyFileSync(process.execPath, join(tree, 'usr/bin/node'));
    chmodSync(join(tree, 'usr/bin/node'), 0o755);
    writeFileSync(join(tree, 'etc/hosts'), '127.0.0.1 localhost\n::1 localhost\n');
    writeFileSync(join(tree, 'etc/systemd/system/project.service'), unit);
    writeFileSync(join(tree, 'usr/local/sbin/run-project'), runProject);
    for (const name of readdirSync(join(tree, 'boot'))) {
      const [, kind] = /^(vmlinuz|initrd)/.exec(name) ?? [];
      if (kind) copyFileSync(join(tree, 'boot', name), join(fresh, kind));
    }
    makeDisk(tree, join(fresh, 'root.ext4'), '8G');
    rmSync(tree, { recursive: true });
    renameSync(fresh, folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return folder;
}

/** A folder that goes with this process, or with the next one that finds its maker gone. */
function ownFolder(cache, what) {
  return mkdtempSync(join(cache, `${what}-${process.pid}-`));
}

function sweep(cache) {
  for (const name of readdirSync(cache)) {
    const [, pid] = /^(?:new|run)-(\d+)-/.exec(name) ?? [];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(cache, name), { recursive: true, force: true });
  }
}

function makeDisk(tree, image, size) {
  execFileSync('mkfs.ext4', ['-q', '-d', tree, image, size], { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** The clone with everything that was installed and built, and without what is kept between runs. */
function makeProjectDisk(root, folder, script) {
  const tree = join(folder, 'tree');
  mkdirSync(join(tree, '.cache'), { recursive: true });
  const names = readdirSync(root).filter((name) => !['.git', '.cache'].includes(name));
  // Links to the same files: nobody changes them here, and nothing is copied twice.
  execFileSync('cp', ['-al', ...names, tree], { cwd: root });
  writeFileSync(join(tree, '.cache', 'in-machine.sh'), script);
  makeDisk(tree, join(folder, 'project.ext4'), '4G');
  rmSync(tree, { recursive: true });
}

function qemuCommand({ machine, folder, root, cgroups, processors, memoryMiB, extraArguments }) {
  const kernel = ['root=/dev/vda', 'rw', 'console=ttyS0', 'quiet', 'systemd.unit=project.service', 'panic=-1'];
  const append = [...kernel, ...cgroupArguments[cgroups], ...extraArguments, `caisson.project=${root}`].join(' ');
  const disk = (file, options) => ['-drive', `file=${file},format=raw,if=virtio,${options}`];
  return [
    // It ends with this process however that ends, and stands behind whatever else the host has to do.
    ...['setpriv', '--pdeathsig', 'KILL', 'nice', '-n', '19', 'qemu-system-x86_64'],
    ...['-nodefaults', '-no-user-config', '-no-reboot', '-display', 'none', '-machine', 'q35'],
    ...['-accel', 'tcg,thread=multi', '-cpu', 'max', '-smp', String(processors), '-m', String(memoryMiB)],
    ...['-kernel', join(machine, 'vmlinuz'), '-initrd', join(machine, 'initrd'), '-append', append],
    ...disk(join(machine, 'root.ext4'), 'snapshot=on'),
    ...disk(join(folder, 'project.ext4'), 'cache=unsafe'),
    ...['-device', 'virtio-rng-pci'],
    ...['-serial', `file:${join(folder, 'kernel.log')}`],
    ...['-device', 'virtio-serial', '-chardev', 'stdio,id=said', '-device', 'virtconsole,chardev=said'],
  ];
}

/**
 * Boots the machine, runs `script` in the clone inside, and resolves with the script's exit code; `undefined` when the machine
 * ended before the script did. What the script says is said here. Nothing is left but the kept machine.
 */
export async function runInMachine(options) {
  const { root, script, deadlineMs, interactive = false } = options;
  const cache = join(root, '.cache', 'emulated');
  mkdirSync(cache, { recursive: true });
  sweep(cache);
  const machine = machineIn(cache);
  const folder = ownFolder(cache, 'run');
  try {
    makeProjectDisk(root, folder, script);
    const [program, ...args] = qemuCommand({ ...options, machine, folder });
    const stdio = [interactive ? 'inherit' : 'ignore', interactive ? 'inherit' : 'pipe', 'inherit'];
    const qemu = spawn(program, args, { stdio, env: { ...process.env, TMPDIR: folder } });
    const late = setTimeout(() => qemu.kill('SIGKILL'), deadlineMs);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => qemu.kill('SIGKILL'));
    let code;
    const lines = qemu.stdout ? createInterface({ input: qemu.stdout }) : undefined;
    lines?.on('line', (line) => {
      const ended = /^the machine ends with (\d+)/.exec(line);
      if (ended) code = Number(ended[1]);
      else console.log(line);
    });
    await new Promise((resolve, reject) => qemu.once('close', resolve).once('error', reject));
    clearTimeout(late);
    if (code === undefined && !interactive)
      console.error(execFileSync('tail', ['-n', '20', join(folder, 'kernel.log')], { encoding: 'utf8' }));
    return code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
