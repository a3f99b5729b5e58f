/** Whom everything in a sandbox belongs to and runs as unless it is said otherwise. The guest knows it in every image. */
export const sandboxUser = { name: 'user', uid: 1000, gid: 1000, home: '/home/user' } as const;
