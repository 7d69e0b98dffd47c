// Which Secret holds the credentials of a sink, for those who are told that they are refused.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/types.h"
#include "sinks/sink.h"

namespace kollect::sinks {

/// The reference that holds a sink's credentials; none where it has none.
std::optional<api::SecretReference> secret_of(const api::SnapshotSinkSpec& spec);
std::optional<api::SecretReference> secret_of(const api::DatabaseSinkSpec& spec);
std::optional<api::SecretReference> secret_of(const api::EventSinkSpec& spec);

/// Namespace of a Secret that a sink of `sink_ns` refers to.
std::string secret_home(const api::SecretReference& reference, const std::string& sink_ns);

/// "shop/pg (key dsn)": the Secret with the keys that are used of it, never a value; "" without a
/// Secret. `auth` is its content.
std::string credentials_title(const api::SnapshotSink& sink, const SecretData& auth);
std::string credentials_title(const api::DatabaseSink& sink, const SecretData& auth);
std::string credentials_title(const api::EventSink& sink, const SecretData& auth);

/// The sink, whose errors name that Secret where the backend refuses the credentials (denied, and
/// not for want of a right). An empty title changes nothing.
std::unique_ptr<Sink> naming_credentials(std::unique_ptr<Sink> sink, std::string title);

}  // namespace kollect::sinks
