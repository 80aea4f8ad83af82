// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

namespace tenure
{

/** Unique bytes for uses that follow each other closely, such as acquisitions that begin in one turn of the loop.
 *
 *  A call of the kernel costs as much as a tenth of an acquisition. So a draw that soon follows another one fetches
 *  more than it needs, for further draws within `lifetime`. Older bytes are never handed out.
 *
 *  A copy of the process that is made within this time may draw the same bytes. Only a burst leaves bytes over, and its
 *  claims, which the copy shares as well, usually wait for their answers for longer.
 *
 *  Pure but for `fetch`; for one thread at a time. */
class FreshBytes
{
public:
    /// bytes that were fetched longer ago are dropped
    static constexpr std::chrono::microseconds lifetime{200};
    /// the most that is fetched at a time, for the largest bursts
    static constexpr std::size_t most = 512;

    /** Fills `bytes`.
     *  @param fetch  fills a span from the kernel */
    template <class Fetch>
    void draw(std::span<std::byte> bytes, Instant now, Fetch const& fetch)
    {
        bool const in_burst = last_fetch_ && now < *last_fetch_ + lifetime;
        if (!in_burst)
            rest_ = {};
        if (rest_.size() < bytes.size()) {
            size_ = in_burst ? std::min(size_ * 2, most) : bytes.size();
            last_fetch_ = now;
            if (size_ <= bytes.size()) {
                fetch(bytes);
                return;
            }
            rest_ = std::span(bytes_).first(size_);
            fetch(rest_);
        }
        auto const drawn = rest_.last(bytes.size());
        std::ranges::copy(drawn, bytes.begin());
        // wiped, because the bytes may become an owner, which is a secret of its holder
        std::ranges::fill(drawn, std::byte{0});
        rest_ = rest_.first(rest_.size() - bytes.size());
    }

private:
    std::array<std::byte, most> bytes_{};
    /// the rest of `bytes_`
    std::span<std::byte> rest_;
    /// of the last fetch
    std::size_t size_ = 0;
    std::optional<Instant> last_fetch_;
};

} // namespace tenure
