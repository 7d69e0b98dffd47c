#include "http/answer_head.h"

#include <gtest/gtest.h>

namespace kollect::http {
namespace {

TEST(AnswerHead, EveryStatusThatIsAnsweredHasItsPhrase) {
  EXPECT_EQ(start_of_head(200).substr(0, 17), "HTTP/1.1 200 OK\r\n");
  EXPECT_EQ(start_of_head(302).substr(0, 20), "HTTP/1.1 302 Found\r\n");
  for (const int status : {201, 202, 204, 302, 304, 400, 401, 403, 404, 405, 408, 409, 410,
                           412, 413, 415, 421, 422, 429, 431, 500, 501, 502, 503, 504}) {
    EXPECT_EQ(start_of_head(status).find("Status\r\n"), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace kollect::http
