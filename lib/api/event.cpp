// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/event.hpp>

namespace tenure
{

std::string_view to_string(Event::Kind kind) noexcept
{
    switch (kind) {
    case Event::Kind::waited:
        return "waited";
    case Event::Kind::acquired:
        return "acquired";
    case Event::Kind::at_risk:
        return "at_risk";
    case Event::Kind::renewed_late:
        return "renewed_late";
    case Event::Kind::lost:
        return "lost";
    case Event::Kind::released:
        return "released";
    }
    return "unknown";
}

} // namespace tenure
