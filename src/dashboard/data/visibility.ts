/** Whether anybody can see this tab: a hidden one asks the service for nothing. */
export const visibility = {
  isVisible: (): boolean => document.visibilityState === 'visible',
  /** Calls each time the tab is seen again; the result ends it. */
  onVisible(call: () => void): () => void {
    const onChange = (): void => {
      if (visibility.isVisible()) call();
    };
    document.addEventListener('visibilitychange', onChange);
    return () => document.removeEventListener('visibilitychange', onChange);
  },
};
