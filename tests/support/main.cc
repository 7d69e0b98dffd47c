// main() of every test program: tests find their case files from the top of the tree, wherever they
// are started.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  // As in the program itself: a peer that has gone is an error value, not the end of the process.
  (void)std::signal(SIGPIPE, SIG_IGN);
  if (chdir(KOLLECT_TOP) != 0) {
    std::perror("chdir " KOLLECT_TOP);
    return 2;
  }
  return RUN_ALL_TESTS();
}
