// SCRAM against the examples of RFC 7677 and of other implementations.
#include "sinks/kafka/scram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kollect::sinks::kafka {
namespace {

constexpr const char* kFirst =
    "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

Scram example() {
  return {"SCRAM-SHA-256", "user", base::Secret("pencil"), "rOprNGfwEbeRWgbNEkqO"};
}

TEST(KafkaScram, TheExampleOfTheStandard) {
  Scram scram = example();
  EXPECT_EQ(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
  const auto last = scram.final(kFirst);
  ASSERT_TRUE(last.has_value()) << last.error().message;
  EXPECT_EQ(*last,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
            "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
  EXPECT_TRUE(scram.check("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").has_value());
  EXPECT_FALSE(scram.check("v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").has_value());
  EXPECT_FALSE(scram.check("v=").has_value());
  EXPECT_FALSE(scram.check("").has_value());
}

TEST(KafkaScram, AnswersThatAreNone) {
  for (const char* answer :
       {"", "r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        "r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",  // nothing of the server's
        "r=rOprNGfwEbeRWgbNEkqOx,s=*,i=4096", "r=rOprNGfwEbeRWgbNEkqOx,i=4096",
        "r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=1",
        "r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=2000000000",
        "r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=x"}) {
    Scram scram = example();
    const auto last = scram.final(answer);
    ASSERT_FALSE(last.has_value()) << answer;
    EXPECT_EQ(last.error().reason, "auth");
    EXPECT_FALSE(scram.check("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").has_value());
  }
}

TEST(KafkaScram, NamesAndNonces) {
  EXPECT_EQ(Scram("SCRAM-SHA-512", "a=b,c", base::Secret("x"), "n").first(), "n,,n=a=3Db=2Cc,r=n");
  EXPECT_NE(Scram::new_nonce(), Scram::new_nonce());
  EXPECT_EQ(Scram::new_nonce().find(','), std::string::npos);
}

}  // namespace
}  // namespace kollect::sinks::kafka
