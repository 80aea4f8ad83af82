// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/live_backend.hpp"

#include "runtime/asio_runtime.hpp"
#include "store/redis/backend.hpp"

#include <algorithm>
#include <utility>

namespace tenure::test
{

namespace asio = boost::asio;

LiveBackend::LiveBackend(Lines lines, MakeBackend const& make)
    : Client(
          [lines](asio::io_context& context) {
              // not make_runtime: lines are to be there when what logged them has run
              return make_asio_runtime(
                  context.get_executor(), [lines](LogLevel, std::string_view line) { lines->emplace_back(line); });
          },
          make)
    , lines_(lines)
{
}

LiveBackend::LiveBackend(MakeBackend const& make)
    : LiveBackend(std::make_shared<std::vector<std::string>>(), make)
{
}

LiveBackend::LiveBackend(RedisConfig const& config, redis::StreamFactory streams)
    : LiveBackend([&](std::shared_ptr<Runtime> runtime) {
        return redis::make_backend(std::move(runtime), config, std::move(streams));
    })
{
}

LiveBackend::LiveBackend(RedisServer const& server)
    : LiveBackend(config_of(server))
{
}

std::size_t LiveBackend::logged(std::string_view part) const
{
    return static_cast<std::size_t>(std::count_if(lines_->begin(), lines_->end(), [part](std::string const& line) {
        return line.find(part) != std::string::npos;
    }));
}

RedisConfig config_of(RedisServer const& server)
{
    RedisConfig config;
    config.port = server.port();
    return config;
}

RedisConfig worker_of(RedisServer const& server)
{
    auto config = config_of(server);
    config.username = "worker";
    config.password = "secret";
    return config;
}

ClaimPtr claim_of(KeyRangePtr range, std::string owner, std::uint32_t index)
{
    auto claim = std::make_shared<Claim>();
    claim->range = std::move(range);
    claim->owner = std::move(owner);
    claim->index = index;
    return claim;
}

} // namespace tenure::test
