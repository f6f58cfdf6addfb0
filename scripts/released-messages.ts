/** The descriptors of the last release. No change may break its clients. */
export const RELEASED_MESSAGES = 'src/proto/released.binpb';
