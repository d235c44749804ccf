Inside(JSON.parse(document.getElementById("network").textContent));
