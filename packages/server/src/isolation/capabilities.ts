/**
 * What root inside may do, of the forty or so powers that the kernel knows: those that installing packages and running
 * services as other users need. All of them hold within the sandbox's own user namespace only.
 */
export const sandboxCapabilities = [
  'CAP_AUDIT_WRITE',
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_FOWNER',
  'CAP_FSETID',
  'CAP_KILL',
  'CAP_NET_BIND_SERVICE',
  'CAP_SETFCAP',
  'CAP_SETGID',
  'CAP_SETPCAP',
  'CAP_SETUID',
  'CAP_SYS_CHROOT',
] as const;
