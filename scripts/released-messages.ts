/** Where the descriptors of the last release are: no change may break its clients. */
export const RELEASED_MESSAGES = 'src/proto/released.binpb';
