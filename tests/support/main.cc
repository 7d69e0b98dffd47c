// main() of every test program: tests find their case files from the top of the tree, wherever they are started.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (chdir(KOLLECT_TOP) != 0) {
    std::perror("chdir " KOLLECT_TOP);
    return 2;
  }
  return RUN_ALL_TESTS();
}
