// Codes of the client library as errors, decided once (spec: sinks 16.3, K-65).
#pragma once

#include <librdkafka/rdkafka.h>

#include <string_view>

#include "base/result.h"

namespace kollect::sinks::kafka {

/// `doing` says what failed ("topic inventory"). The library's own texts are left out: they may
/// quote what a broker answered. Reasons: "auth", "forbidden", "topic-missing", "too-large",
/// "bad-topic", "unreachable", "unconfirmed", "unavailable", "producer-reset", "refused".
base::Error error_of(rd_kafka_resp_err_t code, std::string_view doing);

}  // namespace kollect::sinks::kafka
