export * from './documents/read-document.ts';
export * from './drivers/driver.ts';
export * from './storage/storage.ts';
