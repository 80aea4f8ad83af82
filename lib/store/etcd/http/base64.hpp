// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tenure::etcd
{

/** Encodes bytes for the gateway: the standard alphabet, with padding. */
[[nodiscard]] std::string to_base64(std::string_view bytes);
/** As above, appended to the text. */
void add_base64(std::string& text, std::string_view bytes);
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

} // namespace tenure::etcd
